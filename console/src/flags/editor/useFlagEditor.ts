import { useEffect, useState } from "react";
import { type Flag, isSame, type JsonObject, type Rules, readRules, writeRules } from "../model";
import { type Draft, dropDraft, keepDraft, readDraft } from "./drafts";
import { type Fields, fieldsOf } from "./fields";
import { merge } from "./merge";

interface State {
  /** The fields on which the changes are based. */
  base: Fields;
  version: number;
  fields: Fields;
  /** The rules in the fields' filters; null if they can only be edited as JSON. */
  rules: Rules | null;
  /** The version that was seen last. */
  seen: number;
  /** A newer version of the flag that conflicts with the changes. */
  theirs: { fields: Fields; version: number } | null;
  /** Whether a newer version of the flag was merged with the changes. */
  hasTaken: boolean;
  /** When the draft was stored that was found when the page was opened. */
  keptAt: string | null;
}

export interface FlagEditor extends State {
  isDirty: boolean;
  setRules: (rules: Rules) => void;
  setFilters: (filters: JsonObject) => void;
  set: (change: Partial<Omit<Fields, "filters">>) => void;
  replace: (fields: Fields) => void;
  discard: () => void;
  /** Ends a collision. */
  resolve: (fields: Fields) => void;
  saved: (flag: Flag) => void;
}

/** The changes of a flag that are not saved: kept in this browser, and put together with what others
 * save meanwhile.
 */
export function useFlagEditor(flag: Flag, draftName: string): FlagEditor {
  const [state, setState] = useState(() => opened(flag, readDraft(draftName)));
  const [gone, setGone] = useState(false);
  // The flag has moved: by another, or by the head of this page.
  if (flag.version !== state.seen) setState(adopt(state, flag));
  const isDirty = !isSame(state.base, state.fields);

  useKeptDraft(draftName, state, isDirty && !gone);
  const change = (fields: Fields, rules = state.rules) => {
    setGone(false);
    setState({ ...state, fields, rules });
  };
  return {
    ...state,
    isDirty,
    setRules: (rules) => change({ ...state.fields, filters: writeRules(rules) }, rules),
    setFilters: (filters) => change({ ...state.fields, filters }, readRules(filters)),
    set: (part) => change({ ...state.fields, ...part }),
    replace: (fields) => change(fields, readRules(fields.filters)),
    discard: () => setState(fresh(state.theirs ?? { fields: state.base, version: state.version })),
    resolve: (fields) => {
      const { theirs } = state;
      if (theirs === null) return;
      const rules = readRules(fields.filters);
      setState({
        ...state,
        base: theirs.fields,
        version: theirs.version,
        fields,
        rules,
        theirs: null,
      });
    },
    saved: (now) => {
      setGone(true);
      setState(fresh({ fields: fieldsOf(now), version: now.version }));
    },
  };
}

function useKeptDraft(name: string, state: State, isKept: boolean): void {
  const { base, version, fields } = state;
  useEffect(() => {
    if (isKept) keepDraft(name, { base, version, fields });
    else dropDraft(name);
  }, [name, base, version, fields, isKept]);
}

const fresh = ({ fields, version }: { fields: Fields; version: number }): State => ({
  base: fields,
  version,
  fields,
  rules: readRules(fields.filters),
  seen: version,
  theirs: null,
  hasTaken: false,
  keptAt: null,
});

function opened(flag: Flag, draft: Draft | null): State {
  const now = fresh({ fields: fieldsOf(flag), version: flag.version });
  if (draft === null || isSame(draft.fields, now.base)) return now;
  const { base, version, fields, keptAt } = draft;
  const kept: State = { ...fresh({ fields: base, version }), fields, keptAt };
  const state = { ...kept, rules: readRules(fields.filters) };
  return version === flag.version ? state : adopt(state, flag);
}

function adopt(state: State, flag: Flag): State {
  const theirs = { fields: fieldsOf(flag), version: flag.version };
  const isUntouched = isSame(state.base, state.fields);
  if (isUntouched || isSame(theirs.fields, state.fields)) {
    return isSame(theirs.fields, state.fields)
      ? { ...state, base: theirs.fields, version: theirs.version, seen: flag.version, theirs: null }
      : fresh(theirs);
  }
  const { fields, collisions, hasTaken } = merge(state.base, state.fields, theirs.fields);
  if (collisions.length > 0) return { ...state, seen: flag.version, theirs };
  const rules = isSame(fields.filters, state.fields.filters)
    ? state.rules
    : readRules(fields.filters);
  return {
    ...state,
    base: theirs.fields,
    version: theirs.version,
    seen: flag.version,
    fields,
    rules,
    theirs: null,
    hasTaken: state.hasTaken || hasTaken,
  };
}
