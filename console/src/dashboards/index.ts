export { HomeDashboard } from "./HomeDashboard";
