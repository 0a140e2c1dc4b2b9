export { ChartAnnotations } from "./ChartAnnotations";
export { Annotated, type AnnotatedPlace } from "./place";
export { notesOf, useAnnotations, useMarks } from "./useAnnotations";
