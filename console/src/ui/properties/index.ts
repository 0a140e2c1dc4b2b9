export { isSystemName, plainName } from "./names";
export { PropertiesTable, type PropertiesTableProps } from "./PropertiesTable";
export { PropertyValue, plainValue } from "./PropertyValue";
export { SafeText, Visible } from "./SafeText";
