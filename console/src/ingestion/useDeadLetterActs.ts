import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/ingestion";
import { deleteLetter, retryLetter, retryLetters } from "./queries";

/** The actions on dead letters. */
export function useDeadLetterActs() {
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
