import { Page } from "@/ui/Page";
import { words } from "@/words/cohorts";

export default function NewCohortPage() {
  return <Page title={words.newTitle}>{null}</Page>;
}
