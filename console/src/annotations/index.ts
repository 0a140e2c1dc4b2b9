export { ChartAnnotations } from "./ChartAnnotations";
export { Annotated, type AnnotatedPlace } from "./place";
export { useAnnotations } from "./useAnnotations";
