import { Page } from "@/ui/Page";
import { words } from "@/words/events";

export default function EventPage() {
  return <Page title={words.eventTitle}>{null}</Page>;
}
