import { type KeyboardEvent, useId, useRef, useState } from "react";
import type { OptionListState } from "@/ui/combobox";

export interface Option<T extends string> {
  value: T;
  label: string;
}

// Letters that follow each other within this time are one text.
const TYPING_MS = 1000;
const PAGE = 10;

/** The state and keyboard handling of a select field: the focus stays in the field. */
export function useSelect<T extends string>(
  value: T,
  options: readonly Option<T>[],
  onChange: (value: T) => void,
) {
  const [isOpen, setIsOpen] = useState(false);
  const [active, setActive] = useState(0);
  const typed = useRef({ text: "", at: 0 });
  const listId = `${useId()}-list`;
  const chosen = options.findIndex((one) => one.value === value);
  const idOf = (place: number) => `${listId}-${place}`;

  const activate = (place: number) => setActive(Math.max(0, Math.min(place, options.length - 1)));
  const setOpen = (next: boolean) => {
    if (next) activate(chosen);
    setIsOpen(next);
  };
  const choose = (text: string) => {
    setIsOpen(false);
    const option = options.find((one) => one.value === text);
    if (option !== undefined && option.value !== value) onChange(option.value);
  };
  const chooseActive = () => choose(options[active]?.value ?? value);

  const type = (key: string, at: number) => {
    const isNew = at - typed.current.at > TYPING_MS;
    const text = (isNew ? "" : typed.current.text) + key;
    typed.current = { text, at };
    const labels = options.map((one) => one.label);
    const place = placeTyped(labels, text, isOpen ? active : chosen);
    if (!isOpen) setOpen(true);
    if (place !== null) activate(place);
  };
  const isTyping = (at: number) => at - typed.current.at <= TYPING_MS && typed.current.text !== "";

  const onKeyDown = (event: KeyboardEvent) => {
    const { key, altKey, timeStamp } = event;
    if (event.ctrlKey || event.metaKey || event.nativeEvent.isComposing) return;
    if (key === "Tab") {
      if (isOpen) chooseActive();
      return;
    }
    if (key === "Escape") {
      if (!isOpen) return;
      // Closes only the list, not the dialog around it.
      event.stopPropagation();
      setIsOpen(false);
    } else if (key.length === 1 && !altKey && (key !== " " || isTyping(timeStamp)))
      type(key, timeStamp);
    else if (key === "Enter" || key === " " || (isOpen && altKey && key === "ArrowUp")) {
      typed.current.text = "";
      if (isOpen) chooseActive();
      else setOpen(true);
    } else {
      const place = placeOfKey(key, active, options.length);
      if (place === null) return;
      if (isOpen) activate(place);
      else {
        setOpen(true);
        if (key === "Home" || key === "End") activate(place);
      }
    }
    event.preventDefault();
  };

  const list: OptionListState = {
    isMultiple: false,
    isLoading: false,
    isError: false,
    rows: options.map((one) => ({ kind: "option", ...one })),
    activeIndex: isOpen ? active : null,
    activeId: isOpen ? idOf(active) : undefined,
    idOf,
    isChosen: (text) => text === value,
    activate,
    choose,
  };
  return { isOpen, setOpen, listId, list, label: options[chosen]?.label ?? "", onKeyDown };
}

function placeOfKey(key: string, active: number, count: number): number | null {
  switch (key) {
    case "ArrowDown":
      return active + 1;
    case "ArrowUp":
      return active - 1;
    case "PageDown":
      return active + PAGE;
    case "PageUp":
      return active - PAGE;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}

/** Return the place of the first label from `from` on that begins with the text, or null. One letter,
 * typed once or repeatedly, goes from one label that begins with it to the next. */
export function placeTyped(labels: readonly string[], text: string, from: number): number | null {
  const isOneLetter = [...text].every((letter) => letter === text[0]);
  const wanted = (isOneLetter ? text.slice(0, 1) : text).toLowerCase();
  const start = isOneLetter ? from + 1 : Math.max(from, 0);
  const places = labels.map((_, step) => (start + step) % labels.length);
  return places.find((place) => labels[place]?.toLowerCase().startsWith(wanted)) ?? null;
}
