import { UserRound } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { TextField } from "@/ui/Field";
import { Popover } from "@/ui/Popover";
import { Visible } from "@/ui/properties";
import { words } from "@/words/live";
import type { LiveEvent } from "./liveEvent";
import { candidates } from "./ownId";
import type { ChangeSearch } from "./search";

interface MineProps {
  isOn: boolean;
  ownId: string;
  onOwnId: (id: string) => void;
  onChange: ChangeSearch;
  events: readonly LiveEvent[];
}

/** "Only mine": at first it asks which events these are. */
export function Mine({ isOn, ownId, onOwnId, onChange, events }: MineProps) {
  const [isOpen, setOpen] = useState(false);
  const use = (id: string) => {
    onOwnId(id);
    setOpen(false);
    // One distinct id or the other.
    onChange({ mine: true, distinct_id: undefined });
  };
  const forget = () => {
    onOwnId("");
    setOpen(false);
    onChange({ mine: undefined });
  };
  return (
    <div className="flex items-center gap-1">
      {ownId !== "" && (
        <Button
          look={isOn ? "primary" : "default"}
          icon={UserRound}
          aria-pressed={isOn}
          onClick={() => onChange({ mine: isOn ? undefined : true, distinct_id: undefined })}
        >
          {words.mine.only}
        </Button>
      )}
      <Popover
        label={words.mine.title}
        isOpen={isOpen}
        onOpenChange={setOpen}
        className="w-96"
        trigger={
          ownId === "" ? (
            <Button icon={UserRound}>{words.mine.only}</Button>
          ) : (
            <Button look="quiet">{words.mine.change}</Button>
          )
        }
      >
        <OwnIdForm ownId={ownId} events={events} onUse={use} onForget={forget} />
      </Popover>
    </div>
  );
}

interface FormProps {
  ownId: string;
  events: readonly LiveEvent[];
  onUse: (id: string) => void;
  onForget: () => void;
}

function OwnIdForm({ ownId, events, onUse, onForget }: FormProps) {
  const [typed, setTyped] = useState(ownId);
  // Candidates from when the dialog was opened, so that no button moves while it is pressed.
  const [found] = useState(() => candidates(events));
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (typed.trim() !== "") onUse(typed.trim());
  };
  return (
    <form onSubmit={send} className="flex flex-col gap-3">
      <h2 className="font-semibold">{words.mine.title}</h2>
      <p className="text-ink-2">{words.mine.hint}</p>
      <Code text={words.mine.code} what={words.mine.command} />
      <TextField
        label={words.mine.label}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <p className="text-ink-2 text-sm">
        {found.length > 0 ? words.mine.candidates : words.mine.noCandidates}
      </p>
      {found.length > 0 && (
        <ul className="flex flex-col items-start gap-1">
          {found.map((id) => (
            <li key={id} className="max-w-full">
              <Button small onClick={() => onUse(id)} className="max-w-full">
                <span className="truncate">
                  <Visible text={id} />
                </span>
              </Button>
            </li>
          ))}
        </ul>
      )}
      <div className="flex gap-2">
        <Button type="submit" look="primary" disabled={typed.trim() === ""}>
          {words.mine.use}
        </Button>
        {ownId !== "" && (
          <Button look="quiet" onClick={onForget}>
            {words.mine.forget}
          </Button>
        )}
      </div>
    </form>
  );
}
