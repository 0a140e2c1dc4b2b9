import { Page } from "@/ui/Page";
import { words } from "@/words/settings";

export default function AccountPage() {
  return <Page title={words.accountTitle}>{null}</Page>;
}
