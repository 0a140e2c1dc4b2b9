import { Page } from "@/ui/Page";
import { words } from "@/words/events";

export default function EventsPage() {
  return <Page title={words.title}>{null}</Page>;
}
