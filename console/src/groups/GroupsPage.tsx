import { Page } from "@/ui/Page";
import { words } from "@/words/groups";

export default function GroupsPage() {
  return <Page title={words.title}>{null}</Page>;
}
