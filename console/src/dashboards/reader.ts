// In a separate file, because whatever a routes file imports is loaded with the console.
export { loadLines, loadStored } from "@/insights";
