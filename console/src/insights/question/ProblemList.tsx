/** What of a question cannot be read or shown. */
export const ProblemList = ({ problems }: { problems: readonly string[] }) => (
  <ul className="list-disc pl-5">
    {problems.map((problem) => (
      <li key={problem}>
        <bdi>{problem}</bdi>
      </li>
    ))}
  </ul>
);
