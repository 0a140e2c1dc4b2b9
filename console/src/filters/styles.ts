/** Fields of a condition stand beside each other, and are as high as each other. */
export const AS_HIGH = "h-[2.25rem]";
