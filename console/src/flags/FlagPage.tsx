import { Page } from "@/ui/Page";
import { words } from "@/words/flags";

export default function FlagPage() {
  return <Page title={words.flagTitle}>{null}</Page>;
}
