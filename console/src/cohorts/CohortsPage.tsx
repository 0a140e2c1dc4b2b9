import { Page } from "@/ui/Page";
import { words } from "@/words/cohorts";

export default function CohortsPage() {
  return <Page title={words.title}>{null}</Page>;
}
