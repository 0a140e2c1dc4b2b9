import { createContext, useContext } from "react";

/** What a chart belongs to, and so which annotations it shows. */
export interface AnnotatedPlace {
  projectId: string;
  insightId?: number;
  dashboardId?: number;
}

const PlaceContext = createContext<AnnotatedPlace | null>(null);

/** Lets the charts within it show annotations. Others, such as those behind a link, show none. */
export const Annotated = PlaceContext.Provider;

/** The place of a chart; null where it shows no annotations. */
export const useAnnotatedPlace = (): AnnotatedPlace | null => useContext(PlaceContext);
