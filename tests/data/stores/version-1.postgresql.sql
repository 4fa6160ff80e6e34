CREATE TABLE failwell_schema (
	version INTEGER NOT NULL
);

CREATE TABLE failwell_records (
	number BIGSERIAL NOT NULL,
	time DOUBLE PRECISION NOT NULL,
	v INTEGER NOT NULL,
	source VARCHAR(20) NOT NULL,
	kind VARCHAR(20) NOT NULL,
	session VARCHAR(200) NOT NULL,
	server VARCHAR(200) NOT NULL,
	tool VARCHAR(200) NOT NULL,
	call VARCHAR(200) NOT NULL,
	attempt INTEGER NOT NULL,
	elapsed DOUBLE PRECISION,
	delay DOUBLE PRECISION,
	type VARCHAR(20),
	code VARCHAR(200),
	outcome VARCHAR(20),
	retryable BOOLEAN,
	message TEXT,
	id VARCHAR(100),
	text TEXT,
	decision VARCHAR(20),
	reason TEXT,
	arguments VARCHAR(64),
	names TEXT,
	failure TEXT,
	details TEXT,
	PRIMARY KEY (number)
);

CREATE INDEX failwell_records_code ON failwell_records (code, time) WHERE code IS NOT NULL;

CREATE INDEX failwell_records_time ON failwell_records (time);

CREATE INDEX failwell_records_session ON failwell_records (session, time);

CREATE INDEX failwell_records_kind ON failwell_records (kind, time);

CREATE INDEX failwell_records_server ON failwell_records (server, time);

CREATE INDEX failwell_records_tool ON failwell_records (tool, time);
