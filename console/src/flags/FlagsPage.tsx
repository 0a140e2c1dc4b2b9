import { Page } from "@/ui/Page";
import { words } from "@/words/flags";

export default function FlagsPage() {
  return <Page title={words.title}>{null}</Page>;
}
