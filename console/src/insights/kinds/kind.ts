import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";
import type { FigureData, Interval, Threshold } from "@/charts";
import type { SentencePart } from "@/filters";
import type { ActorsQuestion } from "@/insights/actors";
import type { Answer } from "@/insights/answers";
import type { MathName } from "@/insights/question/maths";
import type { KindName, Question } from "@/insights/question/model";
import type { Reading } from "@/insights/question/reading";
import type { Names } from "@/insights/question/sentence";
import type { Query } from "@/insights/question/wire";
import type { Given } from "@/lib/searchParams";

/** Which of the shared parts of the builder a kind uses. */
export interface Uses {
  series: {
    /** The question is incomplete with fewer. */
    least: number;
    most: number;
    /** Whether the user can choose what is counted. */
    hasMath: boolean;
    /** The maths to choose from, over properties of events; undefined: all maths of insights. */
    maths?: readonly MathName[];
    /** Whether series are steps, of which only a person's first may count; these may be optional. */
    canSkip?: (place: number) => boolean;
    /** The heading of the list: "Steps". */
    title: string;
    /** The name of one entry: "Step". */
    one: string;
    /** The mark in front of a series: a letter or a number. */
    mark: (place: number) => string;
  };
  /** 0: none */
  breakdowns: number;
  /** The number of breakdown values shown by default; 25 if not set. */
  usualLimit?: number;
  /** Whether breakdowns can group numbers into ranges. */
  hasRanges?: false;
  /** The intervals to choose from; empty if there is no choice. */
  intervals: readonly Interval[];
  compares: boolean;
}

/** Identifies a number in a result, by API names; part of the URL. */
export type Place = Given;

/** A number whose persons are shown. */
export interface Behind {
  actors: ActorsQuestion;
  /** Describes the number: what, when and how much. */
  description: string;
  /** The suggested name for a cohort of these persons. */
  name: string;
  /** Whether groups are counted instead of persons. */
  ofGroups?: boolean;
}

/** An answer together with its question. */
export interface Asked {
  question: Question;
  answer: Answer;
}

export interface ResultProps extends Asked {
  /** On a dashboard: without the table below. */
  isTile?: boolean;
  height?: number;
  /** Levels to draw across the lines. Keep them stable. */
  thresholds?: readonly Threshold[];
  /** Opens the persons behind a number. */
  onOpen?: (place: Place) => void;
}

export interface FieldsProps {
  question: Question;
  onChange: (question: Question) => void;
  /** The server's error for a field, by the field's API name. */
  errorAt: (attr: string) => string | undefined;
}

/** A kind of question. Each has its own chunk, `kinds/<name>/index.ts`. */
export interface Kind {
  name: KindName;
  /** The parts of the builder, which may depend on the question: not every chart has intervals. */
  uses: (question: Question) => Uses;
  /** Report options in the URL that are not valid. */
  check: (question: Question, reading: Reading) => void;
  /** The API query for a question. */
  query: (question: Question) => Query;
  /** The question that an API query asks, with its series and options. */
  read: (query: Query, reading: Reading) => Question;
  /** The whole sentence, without its full stop. */
  sentence: (question: Question, names: Names) => readonly SentencePart[];
  /** What the user must still choose before it can run, or null if it is complete. */
  missing: (question: Question) => string | null;
  /** Fields specific to this kind, below the series. */
  Fields?: ComponentType<FieldsProps>;
  /** Display options, above the result. */
  View?: ComponentType<FieldsProps>;
  Result: ComponentType<ResultProps>;
  /** The numbers of the answer, for the table and the CSV. */
  table: (asked: Asked) => FigureData;
  /** A note next to the age: "In a period that ends now, some may still convert". */
  note?: (asked: Asked) => string | null;
  /** The names of what has breakdown values of its own, if there can be several: the series, or
   * the formulas. */
  brokenDown?: (question: Question) => readonly string[];
  /** The persons behind a number, or null if the answer has no such number. */
  behind: (asked: Asked, place: Place) => Behind | null;
}

/** A kind whose chunk is not loaded yet. */
export interface KindEntry {
  name: KindName;
  label: string;
  icon: LucideIcon;
  load: () => Promise<Kind>;
}
