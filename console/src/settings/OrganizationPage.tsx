import { Page } from "@/ui/Page";
import { words } from "@/words/settings";

export default function OrganizationPage() {
  return <Page title={words.organizationTitle}>{null}</Page>;
}
