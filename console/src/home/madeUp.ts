/** What the first start of a server makes up, because nobody is there to be asked. */

const PROJECT = "Default project";
const EMAIL_END = "@fanion.local";

export const isMadeUpProject = ({ name }: { name: string }): boolean => name === PROJECT;
export const isMadeUpEmail = (email: string): boolean => email.endsWith(EMAIL_END);
