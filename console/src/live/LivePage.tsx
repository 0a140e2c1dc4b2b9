import { Page } from "@/ui/Page";
import { words } from "@/words/live";

export default function LivePage() {
  return <Page title={words.title}>{null}</Page>;
}
