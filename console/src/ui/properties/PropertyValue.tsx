import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { words } from "@/words/properties";
import { SafeText, Visible } from "./SafeText";

const DEPTH_MAX = 20;
const MEMBERS_SHOWN = 50;

/** Any JSON value, as text. */
export function PropertyValue({ value, depth = 0 }: { value: unknown; depth?: number }) {
  if (typeof value === "string") {
    return value === "" ? <Muted text={words.emptyText} /> : <SafeText text={value} />;
  }
  if (typeof value === "number") return <span className="tabular-nums">{String(value)}</span>;
  if (typeof value === "boolean")
    return <span className="font-mono text-[0.875em]">{String(value)}</span>;
  if (typeof value !== "object" || value === null) return <Muted text={words.null} />;
  if (Array.isArray(value)) {
    const members = value.map((one, place): Member => [String(place), one]);
    return value.length === 0 ? (
      <Muted text={words.emptyList} />
    ) : (
      <Nested members={members} summary={words.list(value.length)} depth={depth} />
    );
  }
  const members = Object.entries(value);
  return members.length === 0 ? (
    <Muted text={words.emptyObject} />
  ) : (
    <Nested members={members} summary={words.object(members.length)} depth={depth} />
  );
}

type Member = [name: string, value: unknown];

function Nested(props: { members: Member[]; summary: string; depth: number }) {
  const { members, depth } = props;
  const [isOpen, setIsOpen] = useState(depth === 0 && members.length <= 3);
  const [count, setCount] = useState(MEMBERS_SHOWN);
  if (depth >= DEPTH_MAX) return <Muted text={words.tooDeep} />;
  return (
    <div className="inline-block min-w-0 max-w-full align-top">
      <button
        type="button"
        aria-expanded={isOpen}
        className="-ms-1 inline-flex items-center gap-0.5 rounded pe-1 text-ink-2 hover:bg-sunken hover:text-ink"
        onClick={() => setIsOpen(!isOpen)}
      >
        <ChevronRight size={14} aria-hidden className={isOpen ? "rotate-90" : ""} />
        {props.summary}
      </button>
      {isOpen && (
        <ul className="ms-1.5 border-s border-line ps-3">
          {members.slice(0, count).map(([name, value]) => (
            <li key={name} className="min-w-0 py-0.5">
              <span className="me-1.5 text-ink-2">
                <Visible text={name} />:
              </span>
              <PropertyValue value={value} depth={depth + 1} />
            </li>
          ))}
          {members.length > count && (
            <li>
              <button
                type="button"
                className="text-sm text-accent-text hover:underline"
                onClick={() => setCount(count + 10 * MEMBERS_SHOWN)}
              >
                {words.more(members.length - count)}
              </button>
            </li>
          )}
        </ul>
      )}
    </div>
  );
}

function Muted({ text }: { text: string }) {
  return <span className="text-ink-3 italic">{text}</span>;
}

/** A value on one line, such as in a cell or a sentence. */
export function plainValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
