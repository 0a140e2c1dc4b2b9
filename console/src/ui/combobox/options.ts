import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

export interface ComboboxOption {
  value: string;
  /** The text shown; by default the value. */
  label?: string;
  /** A text at the right, such as a count. */
  hint?: string;
  /** A small text below the label. */
  description?: string;
}

/** Options that the server is asked for at each change of the text. */
export interface OptionSource {
  /** The key in the query cache; the typed text is added to it. */
  key: readonly unknown[];
  load: (search: string, signal: AbortSignal) => Promise<readonly ComboboxOption[]>;
}

const DELAY_MS = 150;
const FRESH_MS = 30_000;
const NONE: readonly ComboboxOption[] = [];

export function useOptions(
  given: readonly ComboboxOption[] | OptionSource,
  search: string,
  isOpen: boolean,
) {
  const source = "load" in given ? given : null;
  const typed = useDelayed(search.trim());
  const query = useQuery({
    queryKey: ["options", ...(source?.key ?? []), typed],
    queryFn: ({ signal }) => source?.load(typed, signal) ?? NONE,
    enabled: isOpen && source !== null,
    placeholderData: keepPreviousData,
    staleTime: FRESH_MS,
    retry: false,
  });
  if (!("load" in given))
    return { options: matching(given, search), isLoading: false, isError: false };
  const found = query.data ?? NONE;
  const isBehind = query.isPlaceholderData || typed !== search.trim();
  return {
    // Options of an earlier text must not be accepted for the text typed now.
    options: isBehind ? matching(found, search) : found,
    isLoading: query.isFetching || isBehind,
    isError: query.isError,
  };
}

/** Return the options that contain the text in label or value, first those that begin with it. */
export function matching(
  options: readonly ComboboxOption[],
  search: string,
): readonly ComboboxOption[] {
  const wanted = search.trim().toLowerCase();
  if (wanted === "") return options;
  const place = (option: ComboboxOption) =>
    `${(option.label ?? option.value).toLowerCase()}\n${option.value.toLowerCase()}`.indexOf(
      wanted,
    );
  return options
    .filter((option) => place(option) >= 0)
    .toSorted((a, b) => Number(place(a) > 0) - Number(place(b) > 0));
}

function useDelayed(text: string): string {
  const [delayed, setDelayed] = useState(text);
  useEffect(() => {
    // An emptied field shows all options at once.
    const timer = setTimeout(() => setDelayed(text), text === "" ? 0 : DELAY_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return delayed;
}
