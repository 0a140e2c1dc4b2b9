/** The placeholders that the first start of a server fills in for the user. */

const PROJECT = "Default project";
const EMAIL_END = "@fanion.local";

export const isMadeUpProject = ({ name }: { name: string }): boolean => name === PROJECT;
export const isMadeUpEmail = (email: string): boolean => email.endsWith(EMAIL_END);
