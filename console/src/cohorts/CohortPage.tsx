import { Page } from "@/ui/Page";
import { words } from "@/words/cohorts";

export default function CohortPage() {
  return <Page title={words.cohortTitle}>{null}</Page>;
}
