// A file of its own: what routes import is loaded with the console.
export { loadLines, loadStored } from "@/insights";
