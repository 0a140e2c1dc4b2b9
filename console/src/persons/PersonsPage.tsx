import { Page } from "@/ui/Page";
import { words } from "@/words/persons";

export default function PersonsPage() {
  return <Page title={words.title}>{null}</Page>;
}
