import { Braces } from "lucide-react";
import { useState } from "react";
import { useShortcuts } from "@/lib/shortcuts";
import { Button } from "@/ui/Button";
import { lazyPart } from "@/ui/lazyPart";
import { words } from "@/words/insightsBuilder";
import type { QueryProps } from "./QueryDialog";

const QueryDialog = lazyPart(
  "query of an insight",
  async () => (await import("./QueryDialog")).QueryDialog,
  1,
);

/** A button that shows the API query, to copy it or paste another one. */
export function QueryJson({ query, onOpen }: QueryProps) {
  const [isOpen, setOpen] = useState(false);
  useShortcuts([{ keys: ".", label: words.json, group: "do", run: () => setOpen(true) }]);
  return (
    <>
      <Button icon={Braces} aria-keyshortcuts="." onClick={() => setOpen(true)}>
        {words.json}
      </Button>
      {isOpen && <QueryDialog query={query} onOpen={onOpen} onClose={() => setOpen(false)} />}
    </>
  );
}
