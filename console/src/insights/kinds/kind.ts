import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";
import type { FigureData, Interval } from "@/charts";
import type { SentencePart } from "@/filters";
import type { ActorsQuestion } from "@/insights/actors";
import type { Answer } from "@/insights/answers";
import type { KindName, Question } from "@/insights/question/model";
import type { Reading } from "@/insights/question/reading";
import type { Names } from "@/insights/question/sentence";
import type { Query } from "@/insights/question/wire";
import type { Given } from "@/lib/searchParams";

/** What the builder shows for a kind, of the parts that all kinds share. */
export interface Uses {
  series: {
    /** Fewer are not asked for. */
    least: number;
    most: number;
    /** Whether it can be chosen what is counted. */
    hasMath: boolean;
    /** The heading of the list: "Steps". */
    title: string;
    /** One of the list: "Step". */
    one: string;
    /** What stands before a series: a letter, a number. */
    mark: (place: number) => string;
  };
  /** 0: none */
  breakdowns: number;
  /** The number of values of a breakdown that are shown by default; 25 unless it is set. */
  usualLimit?: number;
  /** Whether breakdowns put numbers into ranges. */
  hasRanges?: false;
  /** Those that can be chosen; empty without a choice. */
  intervals: readonly Interval[];
  compares: boolean;
}

/** Where a number stands in an answer, in the names of the API; part of the address. */
export type Place = Given;

/** A number whose persons are shown. */
export interface Behind {
  actors: ActorsQuestion;
  /** The number in words: of what, when, how much. */
  description: string;
  /** The suggested name of a cohort of these persons. */
  name: string;
  /** Whether groups are counted, in place of persons. */
  ofGroups?: boolean;
}

/** An answer with the question that it belongs to. */
export interface Asked {
  question: Question;
  answer: Answer;
}

export interface ResultProps extends Asked {
  /** On a dashboard: without the table below. */
  isTile?: boolean;
  height?: number;
  /** Opens the persons behind a number. */
  onOpen?: (place: Place) => void;
}

export interface FieldsProps {
  question: Question;
  onChange: (question: Question) => void;
  /** The server's error about a field, by its name in the API. */
  errorAt: (attr: string) => string | undefined;
}

/** A kind of question. Each lies in a chunk of its own, in `kinds/<name>/index.ts`. */
export interface Kind {
  name: KindName;
  /** Parts of the builder that depend on the question, such as intervals that a chart does not have. */
  uses: (question: Question) => Uses;
  /** Note what of its options in the address has no meaning. */
  check: (question: Question, reading: Reading) => void;
  /** The question in the names of the API. */
  query: (question: Question) => Query;
  /** The question of a query. Its series, options and whatever else it has. */
  read: (query: Query, reading: Reading) => Question;
  /** The whole sentence, without its full stop. */
  sentence: (question: Question, names: Names) => readonly SentencePart[];
  /** What is still to be chosen before it can be asked; null if nothing is. */
  missing: (question: Question) => string | null;
  /** The fields that only it has, below the series. */
  Fields?: ComponentType<FieldsProps>;
  /** How it is drawn, above the result. */
  View?: ComponentType<FieldsProps>;
  Result: ComponentType<ResultProps>;
  /** The numbers of the answer: of chart, table and CSV. */
  table: (asked: Asked) => FigureData;
  /** A note beside the age: "25 of 311 values shown". */
  note?: (asked: Asked) => string | null;
  /** Who is behind a number; null where the answer has no such number. */
  behind: (asked: Asked, place: Place) => Behind | null;
}

/** A kind before its chunk is loaded. */
export interface KindEntry {
  name: KindName;
  label: string;
  icon: LucideIcon;
  load: () => Promise<Kind>;
}
