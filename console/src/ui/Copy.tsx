import { Check, Copy as CopyIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "@/ui/Button";
import { words } from "@/words/ui";

const SHOWN_MS = 2000;

/** what: the name of what is copied, "the project key" */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
  };
  return (
    <>
      <IconButton
        icon={isCopied ? Check : CopyIcon}
        label={isCopied ? words.copied : words.copyOf(what)}
        onClick={() => void copy()}
        className="size-7"
      />
      <span role="status" className="sr-only">
        {isCopied ? words.copied : ""}
      </span>
    </>
  );
}

/** Browsers have no clipboard on plain http, but for this computer's own addresses. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector('[role="dialog"]') ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** A key or an id: one line, copied by its button. */
export function Copyable({ text, what }: { text: string; what: string }) {
  return (
    <span className="inline-flex min-w-0 max-w-full items-center gap-1">
      <code className="truncate font-mono text-[0.9em]">{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  );
}

/** Lines of a program, with a button that copies them. */
export function Code({ text, what, label }: { text: string; what: string; label?: string }) {
  return (
    <div className="flex max-w-full items-start rounded-md border border-line bg-sunken text-left">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so that keys must reach it */}
      <section tabIndex={0} aria-label={label ?? what} className="min-w-0 grow overflow-x-auto p-3">
        <pre className="font-mono text-[0.85rem]">{text}</pre>
      </section>
      <div className="p-1.5">
        <CopyButton text={text} what={what} />
      </div>
    </div>
  );
}
