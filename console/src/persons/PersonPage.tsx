import { Page } from "@/ui/Page";
import { words } from "@/words/persons";

export default function PersonPage() {
  return <Page title={words.personTitle}>{null}</Page>;
}
