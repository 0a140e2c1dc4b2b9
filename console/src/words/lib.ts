export const words = {
  answered: (status: number) => `The server answered ${status}, without a reason.`,
  unreachable: "The server cannot be reached. Nothing was changed; try again.",
} as const;
