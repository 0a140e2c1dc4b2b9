export const words = {
  answered: (status: number) => `The server answered with status ${status} and gave no reason.`,
  unreachable: "The server cannot be reached. Nothing was changed. Try again.",
} as const;
