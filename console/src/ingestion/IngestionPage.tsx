import { Page } from "@/ui/Page";
import { words } from "@/words/ingestion";

export default function IngestionPage() {
  return <Page title={words.title}>{null}</Page>;
}
