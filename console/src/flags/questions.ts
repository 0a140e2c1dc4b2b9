/** The property in which SDKs send a flag's value with every event. */
export const propertyOf = (key: string): string => `$feature/${key}`;

const ACTIVE = { event: null, math: "dau" };

/** A question about how many persons are active with each value of a flag. */
export const valuesQuestion = (key: string) => ({
  series: [ACTIVE],
  breakdowns: [{ type: "event", property: propertyOf(key) }],
});

/** A question about how many persons are active with one value of a flag: a variant, or `true`. */
export const valueQuestion = (key: string, value: string) => ({
  series: [ACTIVE],
  properties: [{ type: "event", key: propertyOf(key), operator: "exact", value: [value] }],
});
