import { useState } from "react";
import { ApiError } from "@/lib/errors";
import { toast } from "@/ui/Toast";
import { words } from "@/words/insightsSaved";
import { type Details, DetailsDialog } from "./DetailsDialog";

/** The details as they were read, and when they last changed. */
export interface KnownDetails {
  details: Details;
  at: string;
}

type Changes = Partial<Details> & { expected_modified_at?: string };

interface Props {
  title: string;
  known: KnownDetails;
  /** Reads the details again. */
  read: () => Promise<KnownDetails>;
  change: (changes: Changes) => Promise<unknown>;
  onClose: () => void;
}

/** Edits name, description and tags. What somebody else has changed meanwhile is only overwritten after a
 * notice. */
export function EditDetails({ title, known, read, change, onClose }: Props) {
  const [base, setBase] = useState(known);
  const [collided, setCollided] = useState<readonly string[]>([]);
  const save = async (details: Details) => {
    const before = base.details;
    const changed = namesOf(details, before);
    if (changed.length === 0) return onClose();
    const fields = fieldsOf(details, changed);
    try {
      await change({ ...fields, expected_modified_at: base.at });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "conflict") throw error;
      const current = await read();
      const both = namesOf(current.details, before).filter((name) => changed.includes(name));
      setBase(current);
      setCollided(both.map((name) => words.fields[name]));
      if (both.length > 0) return;
      await change({ ...fields, expected_modified_at: current.at });
    }
    toast({ text: words.saved, undo: () => change(fieldsOf(before, changed)) });
    onClose();
  };
  return (
    <DetailsDialog
      title={title}
      details={known.details}
      onClose={onClose}
      onSave={save}
      notice={collided.length > 0 ? words.fieldConflict(collided.join(", ")) : undefined}
    />
  );
}

const NAMES = ["name", "description", "tags"] as const;
type Name = (typeof NAMES)[number];

/** Return the fields that differ. */
const namesOf = (a: Details, b: Details) =>
  NAMES.filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]));

const fieldsOf = (details: Details, names: readonly Name[]): Partial<Details> =>
  Object.fromEntries(names.map((name) => [name, details[name]]));
