import { Page } from "@/ui/Page";
import { words } from "@/words/settings";

export default function ProjectSettingsPage() {
  return <Page title={words.projectTitle}>{null}</Page>;
}
