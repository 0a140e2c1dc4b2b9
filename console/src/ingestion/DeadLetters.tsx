import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { Button } from "@/ui/Button";
import { ConfirmTyped } from "@/ui/ConfirmTyped";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/ingestion";
import { DeadLetterItem } from "./DeadLetterItem";
import {
  type DeadLetter,
  deadLettersQuery,
  deleteLetter,
  retryLetter,
  retryLetters,
} from "./queries";

interface DeadLettersProps {
  openId: number | undefined;
  onOpen: (id: number | undefined) => void;
}

/** Requests that could not be ingested; sent again one by one, or all. */
export function DeadLetters({ openId, onOpen }: DeadLettersProps) {
  const letters = useQuery(deadLettersQuery(useProjectId()));
  const canEdit = useCanEdit();
  const acts = useDeadLetterActs();
  const [removed, setRemoved] = useState<DeadLetter | null>(null);
  const found = letters.data?.results ?? [];
  return (
    <Card
      title={words.letters.title}
      description={words.letters.description}
      actions={
        found.length > 1 && (
          <Button
            small
            icon={RotateCcw}
            disabled={!canEdit}
            title={canEdit ? undefined : words.letters.viewer}
            isBusy={acts.retryAll.isPending}
            onClick={() => acts.retryAll.mutate()}
          >
            {words.letters.retryAll}
          </Button>
        )
      }
    >
      <Loaded query={letters} rows={2}>
        {({ results, count }) =>
          results.length === 0 ? (
            <p className="text-ink-2">{words.letters.none}</p>
          ) : (
            <>
              <ul aria-label={words.letters.list}>
                {results.map((letter) => (
                  <DeadLetterItem
                    key={letter.id}
                    letter={letter}
                    isOpen={letter.id === openId}
                    onToggle={() => onOpen(letter.id === openId ? undefined : letter.id)}
                    canEdit={canEdit}
                    isBusy={acts.retry.isPending && acts.retry.variables === letter.id}
                    onRetry={() => acts.retry.mutate(letter.id)}
                    onRemove={() => setRemoved(letter)}
                  />
                ))}
              </ul>
              <p className="mt-2 text-ink-2 text-sm">
                {count > results.length && `${words.letters.shown(results.length, count)} `}
                {words.letters.notEditable}
              </p>
            </>
          )
        }
      </Loaded>
      {removed !== null && (
        <ConfirmTyped
          isOpen
          onClose={() => setRemoved(null)}
          title={words.letters.removeTitle}
          name={words.letters.removeWord}
          submit={words.letters.remove}
          isBusy={acts.remove.isPending}
          error={acts.remove.error}
          onConfirm={() => acts.remove.mutate(removed.id, { onSuccess: () => setRemoved(null) })}
        >
          {words.letters.removeHint(removed.items)}
        </ConfirmTyped>
      )}
    </Card>
  );
}

/** The actions on dead letters. */
function useDeadLetterActs() {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const renew = () => queries.invalidateQueries({ queryKey: ["ingestion", projectId] });
  const sent = async ({ dead_letters: count }: { dead_letters: number }) => {
    await renew();
    toast({ text: words.letters.sent(count) });
  };
  const retry = useMutation({
    mutationFn: (id: number) => retryLetter(projectId, id),
    onSuccess: sent,
    onError: toastError,
  });
  const retryAll = useMutation({
    mutationFn: () => retryLetters(projectId),
    onSuccess: sent,
    onError: toastError,
  });
  const remove = useMutation({
    mutationFn: (id: number) => deleteLetter(projectId, id),
    onSuccess: async () => {
      await renew();
      toast({ text: words.letters.removed });
    },
  });
  return { retry, retryAll, remove };
}
