-- What a decision was made with: the placement, or another decision of the same pass, that its inputs are kept under. NULL: none are.
ALTER TABLE decision ADD COLUMN placement {i64};
-- Jobs that got a machine, or where to go, in it; 0: all waited.
ALTER TABLE placement_input ADD COLUMN placed {i64} NOT NULL DEFAULT 1;
