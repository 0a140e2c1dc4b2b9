import { useState } from "react";
import { TextField } from "@/ui/Field";
import { words } from "@/words/insightsRetention";
import { areBrackets, BRACKETS_MAX } from "./options";
import type { Period } from "./query";

interface Props {
  period: Period;
  brackets: readonly number[];
  onChange: (brackets: readonly number[]) => void;
  error: string | undefined;
}

/** The sizes of the brackets, between commas. Other text stays in the field and is not applied. */
export function BracketsField({ period, brackets, onChange, error }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const isWrong = typed !== null && !areBrackets(sizesOf(typed));
  const change = (text: string) => {
    setTyped(text);
    const sizes = sizesOf(text);
    if (areBrackets(sizes) && sizes.join() !== brackets.join()) onChange(sizes);
  };
  return (
    <TextField
      label={words.brackets}
      isOptional
      hint={words.bracketsHint[period]}
      placeholder="1, 3, 7"
      value={typed ?? brackets.join(", ")}
      onChange={({ target }) => change(target.value)}
      onBlur={() => {
        if (!isWrong) setTyped(null);
      }}
      error={isWrong ? words.bracketsAllowed(BRACKETS_MAX) : error}
    />
  );
}

/** A comma at the end is the beginning of another number. */
const sizesOf = (text: string): number[] =>
  text
    .replace(/,\s*$/, "")
    .split(/[\s,]+/)
    .filter((part) => part !== "")
    .map(Number);
