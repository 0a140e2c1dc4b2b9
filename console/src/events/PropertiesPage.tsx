import { Page } from "@/ui/Page";
import { words } from "@/words/events";

export default function PropertiesPage() {
  return <Page title={words.propertiesTitle}>{null}</Page>;
}
