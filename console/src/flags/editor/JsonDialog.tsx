import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { JsonEditor } from "@/ui/JsonEditor";
import { words } from "@/words/flagEditor";
import { isObject } from "../model";
import { filtersToSend } from "../queries";
import { type Fields, isFields } from "./fields";

interface JsonDialogProps {
  projectId: string;
  flagId: number | null;
  fields: Fields;
  canEdit: boolean;
  onApply: (fields: Fields) => void;
  onClose: () => void;
}

/** The flag as the API has it. What is applied becomes the unsaved change. */
export function JsonDialog(props: JsonDialogProps) {
  const { projectId, flagId, fields, canEdit, onApply, onClose } = props;
  const [text, setText] = useState(() => JSON.stringify(fields, null, 2));
  const [isValid, setValid] = useState(true);
  const check = useMutation({
    mutationFn: async (): Promise<Fields> => {
      const read = readFields(text, fields);
      await dataOf(
        api.POST("/api/projects/{project_id}/feature_flags/reach/", {
          params: { path: { project_id: projectId } },
          body: {
            ...(flagId !== null && { id: flagId }),
            ...read,
            evaluation_contexts: [...read.evaluation_contexts],
            filters: filtersToSend(read.filters),
          },
        }),
      );
      return read;
    },
    onSuccess: (read) => {
      onApply(read);
      onClose();
    },
  });
  return (
    <FormDialog
      isOpen
      wide
      onClose={onClose}
      title={words.jsonTitle}
      description={words.jsonHint}
      submit={words.apply}
      canSubmit={canEdit && isValid}
      isBusy={check.isPending}
      error={placed(check.error)}
      onSubmit={() => check.mutate()}
    >
      <JsonEditor
        label={words.jsonLabel}
        value={text}
        disabled={!canEdit}
        onChange={(next, isJson) => {
          setText(next);
          setValid(isJson);
        }}
      />
    </FormDialog>
  );
}

/** Fields that are left out stay as they are. throws: Error if the JSON is not a flag */
function readFields(text: string, former: Fields): Fields {
  const found: unknown = JSON.parse(text);
  if (!isObject(found)) throw new Error(words.jsonShape);
  const unknown = Object.keys(found).find((name) => !(name in former));
  if (unknown !== undefined) throw new Error(words.jsonUnknown(unknown));
  const fields: unknown = { ...former, ...found };
  if (!isFields(fields)) throw new Error(words.jsonShape);
  return fields;
}

/** The error with the place that the server names. */
function placed(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.attr === null) return error;
  return new Error(`${error.attr.replaceAll("__", ".")}: ${error.detail}`);
}
