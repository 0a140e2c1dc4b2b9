import { Page } from "@/ui/Page";
import { words } from "@/words/home";

export default function HomePage() {
  return <Page title={words.title}>{null}</Page>;
}
