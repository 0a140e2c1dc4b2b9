import { Plus, X } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { IconButton } from "@/ui/Button";
import { CONTROL } from "@/ui/classes";
import { words } from "@/words/flagEditor";

interface TagListProps {
  tags: readonly string[];
  canEdit: boolean;
  onChange: (tags: string[]) => void;
}

export function TagList({ tags, canEdit, onChange }: TagListProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const add = () => {
    const tag = (typed ?? "").trim();
    if (tag !== "" && !tags.includes(tag)) onChange([...tags, tag]);
    setTyped(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") add();
    if (event.key === "Escape") setTyped(null);
  };
  return (
    <div className="flex flex-wrap items-center gap-1">
      <ul aria-label={words.tags} className="contents">
        {tags.map((tag) => (
          <li
            key={tag}
            className="inline-flex max-w-60 items-center rounded bg-sunken px-1.5 py-px text-[0.8rem] text-ink-2"
          >
            <bdi className="truncate">{tag}</bdi>
            {canEdit && (
              <button
                type="button"
                aria-label={words.removeTag(tag)}
                onClick={() => onChange(tags.filter((one) => one !== tag))}
                className="ml-0.5 rounded p-0.5 hover:text-ink"
              >
                <X aria-hidden className="size-3" />
              </button>
            )}
          </li>
        ))}
      </ul>
      {canEdit &&
        (typed === null ? (
          <IconButton
            icon={Plus}
            label={words.addTag}
            onClick={() => setTyped("")}
            className="size-7"
          />
        ) : (
          <input
            // biome-ignore lint/a11y/noAutofocus: it takes the place of the button that was pressed.
            autoFocus
            aria-label={words.tag}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={onKeyDown}
            onBlur={add}
            className={`${CONTROL} !h-auto !w-32 !py-0.5`}
          />
        ))}
    </div>
  );
}
