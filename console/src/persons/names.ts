import type { Person } from "./queries";

const TYPED_MAX = 60;
// Letters, digits and signs that a keyboard has; nothing that is not seen.
const TYPEABLE = /^[\p{L}\p{N}\p{P}\p{S}]+( [\p{L}\p{N}\p{P}\p{S}]+)*$/u;

/** Return the text that confirms a deletion: the name, or the id if the name cannot be typed. */
export function typedName(person: Pick<Person, "name" | "id">): string {
  const canBeTyped = person.name.length <= TYPED_MAX && TYPEABLE.test(person.name);
  return canBeTyped ? person.name : person.id;
}

export function emailOf(person: Pick<Person, "properties">): string {
  const { email } = person.properties;
  return typeof email === "string" ? email : "";
}

/** The name in its properties, where the API calls a person by the e-mail address. */
export function fullNameOf(person: Pick<Person, "properties" | "name">): string {
  const { name } = person.properties;
  return typeof name === "string" && name !== person.name ? name : "";
}
