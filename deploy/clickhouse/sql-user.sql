-- The user of FANION_EVENTS_SQL_URL, which runs SQL that people write: it sees only the project of
-- the question and cannot write. Run this after the first start of Fanion, which creates the tables,
-- as a user that may create users and policies. `fanion doctor` checks the result.
--
-- Change the password, and the database if it is not `fanion`. On a cluster see docs/sql.md.

CREATE USER fanion_sql IDENTIFIED BY 'change me';
GRANT SELECT ON fanion.* TO fanion_sql;

-- Each statement says its project by a setting. Without it the server refuses the statement.
CREATE ROW POLICY one_project ON fanion.events USING project_id = toUInt64(getSetting('SQL_fanion_project_id')) TO fanion_sql;
CREATE ROW POLICY one_project ON fanion.events_by_distinct_id USING project_id = toUInt64(getSetting('SQL_fanion_project_id')) TO fanion_sql;
CREATE ROW POLICY one_project ON fanion.persons USING project_id = toUInt64(getSetting('SQL_fanion_project_id')) TO fanion_sql;
CREATE ROW POLICY one_project ON fanion.person_overrides USING project_id = toUInt64(getSetting('SQL_fanion_project_id')) TO fanion_sql;
CREATE ROW POLICY one_project ON fanion.groups USING project_id = toUInt64(getSetting('SQL_fanion_project_id')) TO fanion_sql;
CREATE ROW POLICY one_project ON fanion.session_rows USING project_id = toUInt64(getSetting('SQL_fanion_project_id')) TO fanion_sql;
CREATE ROW POLICY one_project ON fanion.session_touches USING project_id = toUInt64(getSetting('SQL_fanion_project_id')) TO fanion_sql;
CREATE ROW POLICY one_project ON fanion.property_uses USING project_id = toUInt64(getSetting('SQL_fanion_project_id')) TO fanion_sql;

-- A table with a policy shows nothing to users without one: all others, Fanion's own too, see all.
CREATE ROW POLICY all_projects ON fanion.events USING 1 TO ALL EXCEPT fanion_sql;
CREATE ROW POLICY all_projects ON fanion.events_by_distinct_id USING 1 TO ALL EXCEPT fanion_sql;
CREATE ROW POLICY all_projects ON fanion.persons USING 1 TO ALL EXCEPT fanion_sql;
CREATE ROW POLICY all_projects ON fanion.person_overrides USING 1 TO ALL EXCEPT fanion_sql;
CREATE ROW POLICY all_projects ON fanion.groups USING 1 TO ALL EXCEPT fanion_sql;
CREATE ROW POLICY all_projects ON fanion.session_rows USING 1 TO ALL EXCEPT fanion_sql;
CREATE ROW POLICY all_projects ON fanion.session_touches USING 1 TO ALL EXCEPT fanion_sql;
CREATE ROW POLICY all_projects ON fanion.property_uses USING 1 TO ALL EXCEPT fanion_sql;
