import type { MarkedToken, Token, Tokens } from "marked";
import { Fragment, type ReactNode, useMemo } from "react";
import { classes } from "@/ui/classes";
import { LINK } from "@/ui/Page";
import { words } from "@/words/ui";
import { headingLevels, type Level, linkOf, partsOf, readMarkdown } from "./markdown";
import { Visible } from "./properties";

/** A text in Markdown. HTML and images are shown as they were written, and only links to the web and
 * to mail addresses can be followed. */
export function Markdown({ text }: { text: string }) {
  const parts = useMemo(() => readMarkdown(text), [text]);
  const levels = useMemo(() => headingLevels(parts ?? []), [parts]);
  if (parts === null)
    return (
      <p className="whitespace-pre-wrap break-words">
        <Visible text={text} />
      </p>
    );
  return (
    <div className="flex min-w-0 flex-col gap-2 break-words">
      <All parts={parts} levels={levels} />
    </div>
  );
}

interface PartsProps {
  parts: readonly MarkedToken[];
  levels?: ReadonlyMap<MarkedToken, Level>;
}

/** Parts in their order, each drawn by its kind. */
const All = ({ parts, levels }: PartsProps) =>
  parts.map((part, place) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name than their place.
    <Fragment key={place}>{drawn(part, levels)}</Fragment>
  ));

const within = (part: { tokens?: Token[] }): ReactNode => <All parts={partsOf(part.tokens)} />;

const SIZES: Readonly<Record<number, string>> = { 1: "text-xl", 2: "text-lg" };

function drawn(part: MarkedToken, levels?: PartsProps["levels"]): ReactNode {
  switch (part.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const Heading = levels?.get(part) ?? "p";
      return (
        <Heading className={classes("font-semibold", SIZES[part.depth])}>{within(part)}</Heading>
      );
    }
    case "paragraph":
      return <p>{within(part)}</p>;
    case "text":
      return part.tokens === undefined ? <Visible text={part.text} /> : within(part);
    case "escape":
      return <Visible text={part.text} />;
    case "strong":
      return <strong className="font-semibold">{within(part)}</strong>;
    case "em":
      return <em>{within(part)}</em>;
    case "del":
      return <del>{within(part)}</del>;
    case "br":
      return <br />;
    case "hr":
      return <hr className="border-line" />;
    case "codespan":
      return (
        <code className="rounded bg-sunken px-1 font-mono text-[0.9em]">
          <Visible text={part.text} />
        </code>
      );
    case "code":
      return <CodeBlock text={part.text} />;
    case "blockquote":
      return (
        <blockquote className="flex flex-col gap-2 border-line-strong border-l-2 pl-3 text-ink-2">
          {within(part)}
        </blockquote>
      );
    case "list":
      return <List list={part} />;
    case "list_item":
      return <li>{within(part)}</li>;
    case "checkbox":
      return <span>{part.checked ? words.done : words.notDone} </span>;
    case "link":
      return <Anchor link={part} />;
    case "table":
      return <Table table={part} />;
    case "image":
    case "html":
      return <Visible text={part.raw} />;
  }
}

const CodeBlock = ({ text }: { text: string }) => (
  <pre
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the box scrolls, and keys must reach it therefore.
    tabIndex={0}
    className="overflow-x-auto rounded bg-sunken px-3 py-2 font-mono text-sm"
  >
    <code>
      <Visible text={text} />
    </code>
  </pre>
);

function List({ list }: { list: Tokens.List }) {
  const items = <All parts={list.items} />;
  const shape = "flex flex-col gap-1 pl-6";
  if (!list.ordered) return <ul className={classes("list-disc", shape)}>{items}</ul>;
  return (
    <ol
      {...(typeof list.start === "number" && { start: list.start })}
      className={classes("list-decimal", shape)}
    >
      {items}
    </ol>
  );
}

/** A link that leaves the console; one that cannot be followed is shown as it was written. */
function Anchor({ link }: { link: Tokens.Link }) {
  const address = linkOf(link.href);
  if (address === null) return <Visible text={link.raw} />;
  return (
    <a
      href={address}
      target="_blank"
      rel="noopener noreferrer nofollow"
      title={address}
      className={LINK}
    >
      {within(link)}
    </a>
  );
}

const Table = ({ table }: { table: Tokens.Table }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the box scrolls, and keys must reach it therefore.
  <section tabIndex={0} aria-label={words.table} className="overflow-x-auto">
    <table className="text-sm">
      <thead>
        <Row cells={table.header} />
      </thead>
      <tbody>
        {table.rows.map((cells, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name than their place.
          <Row key={place} cells={cells} />
        ))}
      </tbody>
    </table>
  </section>
);

const Row = ({ cells }: { cells: readonly Tokens.TableCell[] }) => (
  <tr>
    {cells.map((cell, place) => {
      const Cell = cell.header ? "th" : "td";
      return (
        <Cell
          // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other name than their place.
          key={place}
          className={classes(
            "border-line border-b px-2 py-1 text-start",
            cell.header && "font-medium",
          )}
        >
          {within(cell)}
        </Cell>
      );
    })}
  </tr>
);
