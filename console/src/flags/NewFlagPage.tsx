import { Page } from "@/ui/Page";
import { words } from "@/words/flags";

export default function NewFlagPage() {
  return <Page title={words.newTitle}>{null}</Page>;
}
