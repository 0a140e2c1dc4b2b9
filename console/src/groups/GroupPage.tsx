import { Page } from "@/ui/Page";
import { words } from "@/words/groups";

export default function GroupPage() {
  return <Page title={words.groupTitle}>{null}</Page>;
}
