import { Braces } from "lucide-react";
import { useState } from "react";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { JsonEditor } from "@/ui/JsonEditor";
import { words } from "@/words/flagEditor";
import { type OnProblem, useProblem } from "./problems";
import { payloadText } from "./variants";

interface PayloadFieldProps {
  payloadKey: string;
  payload: unknown;
  error: unknown;
  canEdit: boolean;
  /** Called with valid JSON, or with nothing. */
  onChange: (text: string) => void;
  onProblem: OnProblem;
}

/** The JSON that SDKs return with a value. Invalid text is shown but not applied. */
export function PayloadField(props: PayloadFieldProps) {
  const { payloadKey, payload, canEdit, onChange } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const stored = payloadText(payload);
  useProblem(typed === null ? null : words.payloadInvalid(payloadKey), props.onProblem);
  const [isOpen, setOpen] = useState(stored !== "");
  const said = errorOf(props.error, `filters__payloads__${payloadKey}`);
  if (!isOpen && stored === "") {
    if (!canEdit) return null;
    return (
      <Button
        small
        look="quiet"
        icon={Braces}
        aria-label={`${words.addPayload}: ${payloadKey}`}
        onClick={() => setOpen(true)}
        className="self-start"
      >
        {words.addPayload}
      </Button>
    );
  }
  const change = (text: string, isValid: boolean) => {
    setTyped(isValid ? null : text);
    if (isValid) onChange(text);
  };
  return (
    <>
      <JsonEditor
        label={words.payloadOf(payloadKey)}
        value={typed ?? stored}
        onChange={change}
        isOptional
        isCompact
        disabled={!canEdit}
        placeholder="{}"
      />
      {said && (
        <p role="alert" className="text-bad text-sm">
          {said}
        </p>
      )}
    </>
  );
}
